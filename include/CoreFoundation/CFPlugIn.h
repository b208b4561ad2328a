/** @file CFPlugIn.h
 *  Plug-ins: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFPLUGIN__
#define __COREFOUNDATION_CFPLUGIN__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFPlugInInstanceRef, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInGetTypeID, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInCreate, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInGetBundle, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInSetLoadOnDemand, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInIsLoadOnDemand, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInFindFactoriesForPlugInType, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInFindFactoriesForPlugInTypeInPlugIn, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInInstanceCreate, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInRegisterFactoryFunction, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInRegisterFactoryFunctionByName, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInUnregisterFactory, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInRegisterPlugInType, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInUnregisterPlugInType, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInAddInstanceForFactory, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInRemoveInstanceForFactory, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInInstanceGetInterfaceFunctionTable, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInInstanceGetFactoryName, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInInstanceGetInstanceData, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInInstanceGetTypeID, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFPlugInInstanceCreateWithInstanceDataSize, __CF_NO_BUNDLES);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFPLUGIN__ */
