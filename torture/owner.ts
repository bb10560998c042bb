/**
 * The owner of an account: uploads, rebuilds, purges, variables, roll-backs, cancels, deletions; never waits for an
 * operation to end.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { resources } from '../src/contract/index.ts'
import { formOf } from '../test/support/service/deploy.ts'
import { archiveOf } from './archives.ts'
import { tagOf } from './check-visits.ts'
import { idOf } from './journal.ts'
import type { OwnerAct, OwnerKind } from './plan.ts'
import type { System } from './system.ts'
import type { Slot, Tenant } from './tenant.ts'
import type { World } from './world.ts'

const OPERATIONS_KEPT = 6

type Parts = { system: System; tenant: Tenant; world: World; next: () => OwnerAct; count(kind: string): void }

export async function runOwner({ system, tenant, world, next, count }: Parts, signal: AbortSignal) {
  const { account, act } = tenant

  async function doOne(given: OwnerAct, slot: Slot) {
    const { environment } = slot
    const path = `/v1/${environment}`
    const acts: Record<OwnerKind, () => Promise<{ call: { operation: string } } | undefined>> = {
      upload: () => upload(slot, given),
      rebuild: () => act({ kind: 'rebuild', about: environment }, `${path}:rebuild`, { body: {} }),
      cleanRebuild: () =>
        act({ kind: 'cleanRebuild', about: environment }, `${path}:rebuild`, { body: { clean: true } }),
      purge: () => purge(slot, {}),
      purgePath: () => purge(slot, { paths: [given.path] }),
      purgeTag: () => purge(slot, { tags: [given.which % 3 === 0 ? 'everything' : tagOf(given.path)] }),
      variables: () => {
        const value = `value-${given.which}`
        const body = { shellVariables: [{ key: 'MARK', value }] }
        return act({ kind: 'variables', about: environment, value }, path, { method: 'PATCH', body })
      },
      activate: () => activate(slot, given.which),
      cancel: async () => {
        const operation = slot.operations.at(-1 - (given.which % OPERATIONS_KEPT))
        if (operation) await act({ kind: 'cancel', about: environment }, `/v1/${operation}:cancel`)
        return undefined
      },
      regenerate: async () => {
        slot.hooks = undefined
        await tenant.makeHooks(slot)
        return undefined
      },
      deleteEnvironment: () => remove(slot, 'deleteEnvironment'),
      deleteApp: () => remove(slot, 'deleteApp'),
    }
    const done = await acts[given.kind]()
    if (done?.call.operation) slot.operations = [...slot.operations, done.call.operation].slice(-OPERATIONS_KEPT)
  }

  async function upload(slot: Slot, { archive: kind }: OwnerAct) {
    const { environment } = slot
    const version = ++slot.version
    const upload = { version, kind, label: `${idOf(environment).slice(-12)}-${version}` }
    const body = formOf(archiveOf(account, upload, world))
    const asked = await act({ kind: 'upload', about: environment, upload }, `/fu/v1/${environment}:upload`, { body })
    const { build } = asked.reply.json?.metadata ?? {}
    if (build) slot.versions.set(build, version)
    return asked
  }

  const purge = ({ environment: about }: Slot, what: { paths?: string[]; tags?: string[] }) =>
    act({ kind: 'purge', about, purge: what }, `/v1/${about}:clearCache`, { body: what })

  async function activate({ environment: about, versions }: Slot, which: number) {
    const { json } = await system.call(account, `/v1/${about}/deployments`)
    const known = ((json?.deployments ?? []) as resources.Deployment[]).filter(({ build }) => versions.has(build))
    const chosen = known[which % Math.max(1, known.length)]
    if (!chosen) return undefined
    const activated = versions.get(chosen.build) as number
    return act({ kind: 'activate', about, activated }, `/v1/${chosen.name}:activate`)
  }

  async function remove(slot: Slot, kind: 'deleteEnvironment' | 'deleteApp') {
    const about = kind === 'deleteApp' ? slot.app : slot.environment
    const removed = await act({ kind, about }, `/v1/${about}${kind === 'deleteApp' ? '?force=true' : ''}`, {
      method: 'DELETE',
    })
    if (removed.call.outcome !== 'refused') tenant.clear(slot, { withApp: kind === 'deleteApp' })
    return undefined
  }

  while (!signal.aborted) {
    const given = next()
    const slot = tenant.slot(given.slot)
    if (await tenant.furnish(slot)) {
      // An environment without an upload cannot do anything else.
      if (slot.version === 0) await doOne({ ...given, kind: 'upload' }, slot)
      count(given.kind)
      await doOne(given, slot)
    }
    await wait(given.pauseMs * system.pace, undefined, { signal }).catch(() => undefined)
  }
}
