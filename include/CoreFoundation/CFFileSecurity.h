/** @file CFFileSecurity.h
 *  Access control lists of files: not available. Using one of these names is a compile-time error that says what to use
 *  instead: CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFFILESECURITY__
#define __COREFOUNDATION_CFFILESECURITY__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFFileSecurityRef, __CF_NO_URLS);
__CF_NO_FUNCTION(CFFileSecurityGetTypeID, __CF_NO_URLS);
__CF_NO_FUNCTION(CFFileSecurityCreate, __CF_NO_URLS);
__CF_NO_FUNCTION(CFFileSecurityCreateCopy, __CF_NO_URLS);
__CF_NO_FUNCTION(CFFileSecurityCopyOwnerUUID, __CF_NO_URLS);
__CF_NO_FUNCTION(CFFileSecuritySetOwnerUUID, __CF_NO_URLS);
__CF_NO_FUNCTION(CFFileSecurityCopyGroupUUID, __CF_NO_URLS);
__CF_NO_FUNCTION(CFFileSecuritySetGroupUUID, __CF_NO_URLS);
__CF_NO_FUNCTION(CFFileSecurityCopyAccessControlList, __CF_NO_URLS);
__CF_NO_FUNCTION(CFFileSecuritySetAccessControlList, __CF_NO_URLS);
__CF_NO_FUNCTION(CFFileSecurityGetOwner, __CF_NO_URLS);
__CF_NO_FUNCTION(CFFileSecuritySetOwner, __CF_NO_URLS);
__CF_NO_FUNCTION(CFFileSecurityGetGroup, __CF_NO_URLS);
__CF_NO_FUNCTION(CFFileSecuritySetGroup, __CF_NO_URLS);
__CF_NO_FUNCTION(CFFileSecurityGetMode, __CF_NO_URLS);
__CF_NO_FUNCTION(CFFileSecuritySetMode, __CF_NO_URLS);
__CF_NO_FUNCTION(CFFileSecurityClearProperties, __CF_NO_URLS);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFFILESECURITY__ */
