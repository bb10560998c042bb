/** Starts the portal's workers. */
import rulesUrl from './rules.worker.ts?worker&url'
import zipUrl from './zip.worker.ts?worker&url'

const URLS = { rules: rulesUrl, zip: zipUrl }

export const startWorker = (name: keyof typeof URLS): Worker => new Worker(trusted(URLS[name]), { type: 'module' })

type ScriptUrlPolicy = { createScriptURL(url: string): string }
type Policies = { createPolicy(name: string, rules: ScriptUrlPolicy): ScriptUrlPolicy }

/**
 * The page's policy accepts no plain string as the address of a script (Trusted Types). These addresses are constants
 * of the build; any other is refused. Browsers without Trusted Types accept the string itself.
 */
const policies = (globalThis as unknown as { trustedTypes?: Policies }).trustedTypes
const policy = policies?.createPolicy('headland', {
  createScriptURL(url) {
    if (!Object.values(URLS).includes(url)) throw new TypeError(`${url} is no script of the portal`)
    return url
  },
})
const trusted = (url: string): string => policy?.createScriptURL(url) ?? url
