/** Keeps the firewall rules loaded and up to date with the machine's interfaces, for as long as the service runs. */
import { decideForwarding, type Forwarding, lookAtMachine, setForwarding } from './firewall/forwarding.ts'
import { type Rules, rulesOf } from './firewall/rules.ts'
import { guardedByTables, hasTable, loadRules, removeTable, watchTables } from './firewall/table.ts'
import { linksLike } from './links.ts'
import { interfacesOf } from './names.ts'

const LOOK_AGAIN_MS = 5000

type Parts = {
  rules: Omit<Rules, 'guarded' | 'service' | 'edge' | 'proxyAddresses'>
  /** Interfaces on which earlier services switched forwarding on, and not the operator. */
  inherited: readonly string[]
  /** Where a proxy in front of the edge is reached. */
  proxyAddresses(): Promise<readonly string[]>
  onProblem(error: Error): void
}

export async function keepRules({ rules: given, inherited, proxyAddresses, onProblem }: Parts) {
  const { id } = given
  let rules: Omit<Rules, 'guarded'> = { ...given, proxyAddresses: [] }
  let forwarding: Forwarding = { isRouter: false, guarded: inherited }

  /** The rules are loaded first; forwarding on the guarded interfaces is switched on after that. */
  async function put(isLost: boolean) {
    const { switchOn, ...next } = decideForwarding(await lookAtMachine(forwarding.guarded), forwarding)
    const addresses = await proxyAddresses()
    const hasMoved = addresses.join() !== rules.proxyAddresses.join()
    if (hasMoved) rules = { ...rules, proxyAddresses: addresses }
    if (isLost || hasMoved || next.guarded.join() !== forwarding.guarded.join()) {
      await loadRules(rulesOf({ ...rules, guarded: next.guarded }))
    }
    forwarding = next
    for (const name of switchOn) await setForwarding(name, true)
    // Another program has switched those off, and may have switched off all.
    if (switchOn.length > 0) for (const name of linksLike(interfacesOf(id).gatewayLink)) await setForwarding(name, true)
  }

  /** The table is removed first: of two services that end at once, the last one finds no table and switches forwarding off. */
  async function remove() {
    await removeTable(id)
    const stillGuarded = await guardedByTables()
    for (const name of forwarding.guarded) if (!stillGuarded.includes(name)) await setForwarding(name, false)
  }

  try {
    await put(true)
  } catch (error) {
    await remove()
    throw error
  }
  /** The last update: updates run one after the other. */
  let last = Promise.resolve()
  let willLook = false
  const timer = setInterval(() => {
    last = last.then(() => put(false)).catch(onProblem)
  }, LOOK_AGAIN_MS).unref()
  const watching = watchTables(() => {
    // Several tables may be lost at once, and one check is enough.
    if (willLook) return
    willLook = true
    last = last
      .then(async () => {
        willLook = false
        await put(!(await hasTable(id)))
      })
      .catch(onProblem)
  })

  function change(opened: Pick<Rules, 'service' | 'edge'>): Promise<void> {
    const changed = last.then(() => {
      rules = { ...rules, ...opened }
      return put(true)
    })
    last = changed.catch(onProblem)
    return changed
  }

  return {
    /** From now on namespaces that may call the service reach it at this port of the gateway. */
    openService: (service: number): Promise<void> => change({ service }),
    /** From now on all namespaces reach the edge, which listens to them at this port of the gateway. */
    async openEdge(edge: number): Promise<void> {
      if (edge !== rules.edge && given.sites.ports.length > 0) await change({ edge })
    },
    /** Leaves the machine as it was. */
    async stop() {
      clearInterval(timer)
      await watching.stop()
      await last
      await remove()
    },
  }
}
