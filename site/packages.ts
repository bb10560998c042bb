/**
 * The sources of the service import packages. A host installs those of this folder alone, where modules of `src/` do not look,
 * so what is not found beside them is looked for here. In a checkout with packages of its own, this changes nothing.
 */
import { registerHooks } from 'node:module'

registerHooks({
  resolve(specifier, context, next) {
    try {
      return next(specifier, context)
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND' || /^[./]|:/.test(specifier)) throw error
      return next(specifier, { ...context, parentURL: import.meta.url })
    }
  },
})
