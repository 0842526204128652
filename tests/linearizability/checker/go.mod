module holdfast/tests/linearizability/checker

go 1.19

require github.com/anishathalye/porcupine v1.2.1
