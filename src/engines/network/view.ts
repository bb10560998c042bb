/** One view: made before its job starts, removed after it has ended. */
import type { Mount } from '../engine.ts'
import { formatAddress } from './addresses.ts'
import type { Anchor } from './anchor.ts'
import { makeNamespace, type Namespace, run, runIp } from './commands.ts'
import { type Connection, type Contact, createNames, toContacts } from './contacts.ts'
import type { Forwarder } from './dns/forwarder.ts'
import { setForwarding } from './firewall/forwarding.ts'
import { refusalsNow } from './firewall/refusals.ts'
import { recordingRules } from './firewall/rules.ts'
import { deleteLink, insideLines, type Link, outsideLines } from './links.ts'
import { loopbackCommand, loopbackRules } from './loopback.ts'
import type { Policy } from './settings.ts'

export type NetworkView = {
  /** The command that enters the view and becomes the given one. */
  around(command: readonly string[]): string[]
  /** What a job has to see, or it asks the wrong resolver. */
  mounts: readonly Mount[]
  /** Where the service reaches what listens in the view. Nothing of it can be reached by others. */
  address: string
  /** Where a job listens for that. */
  listen: string
  /** Whom the jobs in it have called so far; nobody, unless it was to be recorded. */
  contacts(): Promise<Contact[]>
  /** Cuts off whoever is still in it. */
  close(): Promise<void>
}

export type ViewParts = {
  anchor: Anchor
  forwarder: Forwarder
  policy: Policy
  mounts: readonly Mount[]
}

export async function openView(
  { anchor, forwarder, policy, mounts }: ViewParts,
  link: Link,
  { label, isRecorded, port }: { label: string; isRecorded: boolean; port?: number | undefined },
): Promise<NetworkView> {
  const { block, gateway } = anchor
  const address = formatAddress(link.address)
  const names = isRecorded ? createNames() : undefined
  const namespace = await makeNamespace(insideLines(link))
  try {
    await Promise.all([
      runIp(outsideLines(link, label)),
      setForwarding(link.name, true),
      isRecorded ? runIn(namespace, ['nft', '-f', '-'], recordingRules(gateway)) : undefined,
      port === undefined ? undefined : runIn(namespace, loopbackCommand(), loopbackRules(gateway, port)),
    ])
  } catch (error) {
    await remove(link, namespace)
    throw error
  }
  forwarder.admit(address, names)

  return {
    around: namespace.enter,
    mounts,
    address,
    listen: '0.0.0.0',
    async contacts() {
      return names ? toContacts(await connectionsIn(namespace), names, refusalsNow(policy, block)) : []
    },
    async close() {
      forwarder.dismiss(address)
      await remove(link, namespace)
    },
  }
}

/** The namespace goes with its last process; the cable goes now. */
async function remove({ name }: Link, namespace: Namespace) {
  try {
    await deleteLink(name)
  } finally {
    namespace.close()
  }
}

function runIn(namespace: Namespace, command: readonly string[], input = ''): Promise<string> {
  const [file = '', ...args] = namespace.enter(command)
  return run(file, args, input)
}

type Element = { concat: [address: string, protocol: 'tcp' | 'udp', port: number] }

/** All sets are read at once, so that they are of one moment. */
async function connectionsIn(namespace: Namespace): Promise<Connection[]> {
  const text = await runIn(namespace, ['nft', '-j', 'list', 'table', 'inet', 'headland'])
  const { nftables } = JSON.parse(text) as { nftables: { set?: { name: string; elem?: Element[] } }[] }
  const elementsOf = (name: string) => nftables.flatMap(({ set }) => (set?.name === name ? (set.elem ?? []) : []))
  const keysOf = (name: string) => new Set(elementsOf(name).map(({ concat }) => concat.join(' ')))
  const [answered, reset] = [keysOf('answered'), keysOf('reset_by')]
  return elementsOf('contacts').map(({ concat }) => {
    const [address, protocol, port] = concat
    const key = concat.join(' ')
    const answer = answered.has(key) ? 'ACCEPTED' : reset.has(key) ? 'RESET' : 'NONE'
    return { address, protocol, port, answer }
  })
}
