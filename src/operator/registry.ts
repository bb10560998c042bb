/** What the doctor finds about the registry for images. */
import type { RegistrySettings } from '../images/index.ts'
import type { Finding } from './command.ts'

const PART = 'registry'

/** None where no registry is set; then its module is not loaded. */
export async function registryFindings(settings: RegistrySettings | undefined, version: string): Promise<Finding[]> {
  if (!settings) return []
  const { checkRegistry } = await import('../images/index.ts')
  try {
    const { pushMs, pullMs, deletion } = await checkRegistry(settings, `headland/${version}`)
    const found = `${settings.registry}: push ${pushMs} ms, pull ${pullMs} ms`
    if ('ms' in deletion) return [{ part: PART, state: 'ok', found: `${found}, delete ${deletion.ms} ms`, advice: '' }]
    const advice = 'Enable deletion in the registry: else images of outputs that are gone stay there for ever.'
    return [{ part: PART, state: 'weaker', found: `${found}; ${deletion.problem}`, advice }]
  } catch (error) {
    const found = `${settings.registry}: ${(error as Error).message}`.replaceAll(/\s+/g, ' ')
    const advice = 'Deploys fail until it works: check the address, the network, and the settings registry…'
    return [{ part: PART, state: 'broken', found, advice }]
  }
}
