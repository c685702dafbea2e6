# Completes commands, options and names of kernels: the program says what may follow, a word and its meaning a line.

function __wavetune_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    $words[1] __complete $words[2..-1] "$typed" 2>/dev/null
end

complete -c wavetune -a '(__wavetune_complete)'
