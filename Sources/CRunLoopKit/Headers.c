/* The public headers as a module. SwiftPM requires a source file for one. */
#include <RunLoopKit/RunLoopKit.h>
