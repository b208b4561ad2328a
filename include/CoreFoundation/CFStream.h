/** @file CFStream.h
 *  Streams: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFSTREAM__
#define __COREFOUNDATION_CFSTREAM__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFReadStreamRef, __CF_NO_STREAMS);
__CF_NO_TYPE(CFWriteStreamRef, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFReadStreamGetTypeID, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFWriteStreamGetTypeID, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFReadStreamCreateWithBytesNoCopy, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFWriteStreamCreateWithBuffer, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFWriteStreamCreateWithAllocatedBuffers, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFReadStreamCreateWithFile, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFWriteStreamCreateWithFile, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFStreamCreateBoundPair, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFStreamCreatePairWithSocket, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFStreamCreatePairWithSocketToHost, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFStreamCreatePairWithPeerSocketSignature, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFReadStreamGetStatus, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFWriteStreamGetStatus, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFReadStreamCopyError, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFWriteStreamCopyError, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFReadStreamOpen, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFWriteStreamOpen, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFReadStreamClose, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFWriteStreamClose, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFReadStreamHasBytesAvailable, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFReadStreamRead, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFReadStreamGetBuffer, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFWriteStreamCanAcceptBytes, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFWriteStreamWrite, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFReadStreamCopyProperty, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFWriteStreamCopyProperty, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFReadStreamSetProperty, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFWriteStreamSetProperty, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFReadStreamSetClient, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFWriteStreamSetClient, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFReadStreamScheduleWithRunLoop, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFWriteStreamScheduleWithRunLoop, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFReadStreamUnscheduleFromRunLoop, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFWriteStreamUnscheduleFromRunLoop, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFReadStreamGetError, __CF_NO_STREAMS);
__CF_NO_FUNCTION(CFWriteStreamGetError, __CF_NO_STREAMS);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFSTREAM__ */
