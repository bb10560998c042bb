/** What only a build needs is loaded by the first one: it would be a tenth of the work of every start. */
import type { Diagnosis, PhaseFailure } from './diagnose.ts'
import type { Store } from './package-managers/index.ts'
import type { PackageManager, Plan } from './plan.ts'
import type { Source } from './project.ts'

/** The plan for an app, by its files. */
export async function planSource(source: Source, rootDirectory: string): Promise<Plan> {
  const [{ readProject }, { planBuild }] = await Promise.all([import('./project.ts'), import('./plan.ts')])
  return planBuild(await readProject(source, rootDirectory))
}

export async function diagnosePhase(failure: PhaseFailure): Promise<Diagnosis> {
  const { diagnose } = await import('./diagnose.ts')
  return diagnose(failure)
}

export async function packageStoreOf(manager: PackageManager | null): Promise<Store> {
  const { storeOf } = await import('./package-managers/index.ts')
  return storeOf(manager?.name ?? 'npm', manager?.version ?? '*')
}
