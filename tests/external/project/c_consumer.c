/* Decides one problem, or says why not. */
#include <stdio.h>
#include <wavetune/wavetune.h>

int main(void) {
  const int64_t problem[] = {1000};
  wavetune_client* client = NULL;
  wavetune_tuner* add = NULL;
  wavetune_decision decision;
  wavetune_status status = wavetune_client_connect(NULL, &client);
  if (status != WAVETUNE_OK) {
    fprintf(stderr, "%s\n", wavetune_last_error());
    return 1;
  }
  status = wavetune_client_get_tuner(client, "add", NULL, &add);
  if (status != WAVETUNE_OK) {
    printf("%s: %s\n", wavetune_status_name(status), wavetune_last_error());
    wavetune_client_close(client);
    return 0;
  }
  if (wavetune_tuner_resolve(add, problem, 1, &decision) != WAVETUNE_OK)
    return 1;
  printf("BLOCK %d\n",
         (int)decision.values[wavetune_tuner_parameter_index(add, "BLOCK")]);
  wavetune_tuner_close(add);
  wavetune_client_close(client);
  return 0;
}
