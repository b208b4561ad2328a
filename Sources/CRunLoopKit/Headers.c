/* The public headers as a module; SwiftPM makes one only of what has a source. */
#include <RunLoopKit/RunLoopKit.h>
