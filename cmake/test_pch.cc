// The program that _wavetune_reuse_test_pch (WavetuneTargets.cmake) needs to
// have a header precompiled. Never run.
int main() { return 0; }
