/** @file CFURL.h
 *  URLs: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFURL__
#define __COREFOUNDATION_CFURL__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFURLRef, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLGetTypeID, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateWithBytes, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateData, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateWithString, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateAbsoluteURLWithBytes, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateWithFileSystemPath, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateFromFileSystemRepresentation, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateWithFileSystemPathRelativeToBase, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateFromFileSystemRepresentationRelativeToBase, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLGetFileSystemRepresentation, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCopyAbsoluteURL, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLGetString, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLGetBaseURL, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCanBeDecomposed, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCopyScheme, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCopyNetLocation, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCopyPath, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCopyStrictPath, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCopyFileSystemPath, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLHasDirectoryPath, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCopyResourceSpecifier, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCopyHostName, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLGetPortNumber, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCopyUserName, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCopyPassword, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCopyParameterString, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCopyQueryString, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCopyFragment, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCopyLastPathComponent, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCopyPathExtension, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateCopyAppendingPathComponent, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateCopyDeletingLastPathComponent, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateCopyAppendingPathExtension, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateCopyDeletingPathExtension, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLGetBytes, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLGetByteRangeForComponent, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateStringByReplacingPercentEscapes, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateStringByReplacingPercentEscapesUsingEncoding, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateStringByAddingPercentEscapes, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCopyResourcePropertyForKey, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCopyResourcePropertiesForKeys, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLSetResourcePropertyForKey, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLSetResourcePropertiesForKeys, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLClearResourcePropertyCacheForKey, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLClearResourcePropertyCache, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLSetTemporaryResourcePropertyForKey, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLResourceIsReachable, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateBookmarkData, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateByResolvingBookmarkData, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateResourcePropertiesForKeysFromBookmarkData, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateResourcePropertyForKeyFromBookmarkData, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateBookmarkDataFromFile, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLWriteBookmarkDataToFile, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLCreateBookmarkDataFromAliasRecord, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLStartAccessingSecurityScopedResource, __CF_NO_URLS);
__CF_NO_FUNCTION(CFURLStopAccessingSecurityScopedResource, __CF_NO_URLS);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFURL__ */
