/**
 * The process of a node: it keeps the firewall that keeps apps apart, and confirms it to a control process. When it is lost, the
 * kernel keeps the rules.
 *
 *   1  the rules of last time are put into the kernel      before Docker or a control process answers
 *      and the range of ports that Docker takes when it starts the next time
 *   2  the node's network for apps is made in Docker       tried again until Docker answers, and each time that it was started
 *   3  a control process is told of the node               it answers with the rules of now
 *   4  every few seconds, and when the firewall changes    the kernel is asked, what is missing is restored, and the rest confirmed
 *   5  every few seconds                                   what apps use is measured, and told
 */
import { type Clock, type Log, repeat, shareNext } from '../../base/index.ts'
import { type Caller, createCaller, type Frame, followPeer, type PeerAddress, PROTOCOL } from '../../channel/index.ts'
import { type Docker, measureApps, prepareNode } from '../../swarm/index.ts'
import {
  CONFIRM_MS,
  type ControlMethodsForNode,
  MEASURE_MS,
  type NodeDescription,
  type NodeMethodsForControl,
  type NodeRules,
} from '../messages.ts'
import { createFirewall } from './firewall.ts'
import { createNft, type Nft } from './nft.ts'
import { openPortRanges } from './port-ranges.ts'
import { readSavedRules, saveRules } from './saved-rules.ts'

/** Docker is asked so often what this node is: it may leave a swarm and join another one. */
const DESCRIBE_MS = 10_000
/** Docker may be started again twice before that is seen: the shorter, the less likely. */
const PORTS_MS = 3000
/** Docker forgets the network when it is started, and Swarm tries to start an app three times, a second apart. */
const NETWORK_MS = 1000
/** Changes of the firewall come in bursts. */
const BURST_MS = 50

type Parts = {
  clock: Clock
  log: Log
  /** Of this process. */
  name: string
  version: string
  controls: readonly PeerAddress[]
  docker: Pick<Docker, 'info' | 'networks' | 'createNetwork' | 'publishedPorts' | 'containers' | 'containerMemory'>
  /** The range of the addresses of apps on this node. */
  subnet: string
  /** Where the rules are kept. */
  rulesFile: string
  /** Where it is kept which ports Docker has used. */
  portsFile: string
  nft?: Nft
}

export type NodeProcess = { stop(): Promise<void> }

/** Resolves when the kernel has rules; rejects where it cannot be given any. */
export async function runNode(parts: Parts): Promise<NodeProcess> {
  const { clock, log, name, version, controls, docker, subnet, rulesFile, portsFile } = parts
  const { nft = createNft(clock) } = parts
  const firewall = createFirewall({ nft, log })
  await firewall.use(await readSavedRules(rulesFile))
  const ports = await openPortRanges({ file: portsFile, log })

  let control: Caller<ControlMethodsForNode> | undefined
  /** As it was told to the control process. */
  let told: NodeDescription | undefined
  let known: NodeDescription | undefined
  /** What was logged last: everything is tried again every few seconds. */
  const logged = { describing: '', connecting: '', joining: '', measuring: '' }

  function complain(about: keyof typeof logged, error: unknown, message: string) {
    const { message: why } = error as Error
    if (logged[about] !== why) log.warn({ err: error }, message)
    logged[about] = why
  }

  const prepare = shareNext(() => prepareNode(docker, subnet))

  /** Undefined while Docker does not answer, or the machine is in no swarm. */
  async function describe(): Promise<NodeDescription | undefined> {
    try {
      await prepare()
      const { Name, MemTotal, ServerVersion, Swarm } = await docker.info()
      if (!Swarm.NodeID) throw new Error(`this machine is in no swarm (its state is ${Swarm.LocalNodeState})`)
      logged.describing = ''
      return {
        id: Swarm.NodeID,
        hostname: Name,
        address: Swarm.NodeAddr,
        memoryBytes: MemTotal,
        engine: ServerVersion,
        version,
      }
    } catch (error) {
      complain('describing', error, 'the node cannot be described, and is not confirmed')
      return undefined
    }
  }

  async function use(rules: NodeRules) {
    await firewall.use(rules)
    // A full disk does not keep the kernel from what is new.
    await saveRules(rulesFile, rules).catch((error) => log.error({ err: error }, 'the rules cannot be saved'))
  }

  const refresh = shareNext(async () => {
    known = await describe()
  })

  const confirm = shareNext(async () => {
    const to = control
    try {
      if (to && known && told !== known) {
        const rules = await to.call('join', known)
        told = known
        logged.joining = ''
        if (rules) await use(rules)
      }
    } catch (error) {
      complain('joining', error, 'the node could not join the cluster')
    }
    // The kernel is asked in any case.
    const revision = await firewall.check()
    if (!to || !told || to !== control) return
    const isOnRecord = await to.call('confirm', revision ?? null).catch(() => undefined)
    if (isOnRecord === false) told = undefined
  })
  const methods: NodeMethodsForControl = {
    async setRules(rules) {
      await use(rules).catch((error) => log.error({ err: error }, 'the rules cannot be put into the kernel'))
      await confirm()
    },
  }

  await refresh()
  const following = followPeer<Frame, Frame>({
    addresses: controls,
    greeting: { protocol: PROTOCOL, role: 'node', process: name, version },
    async onPeer(peer) {
      const opened = createCaller<ControlMethodsForNode>(peer, methods)
      control = opened
      told = undefined
      logged.connecting = ''
      void confirm()
      await opened.closed
      if (control === opened) control = undefined
    },
    onRefused: (error) => complain('connecting', error, 'no control process can be reached'),
  })
  const describing = repeat(clock, DESCRIBE_MS, async () => {
    const before = known
    await refresh()
    // Most often nothing has changed.
    if (JSON.stringify(before) === JSON.stringify(known)) known = before
    else void confirm()
  })
  const confirming = repeat(clock, CONFIRM_MS, confirm)
  // Docker may be away, which is told elsewhere; so for the network.
  const choosing = repeat(clock, PORTS_MS, async () => {
    const used = await docker.publishedPorts().catch(() => undefined)
    if (used) await ports.used(used)
  })
  const measuring = repeat(clock, MEASURE_MS, async () => {
    if (!control || !told) return
    try {
      control.notify('memory', await measureApps(docker))
      logged.measuring = ''
    } catch (error) {
      complain('measuring', error, 'what apps use cannot be measured')
    }
  })
  const keeping = repeat(clock, NETWORK_MS, () => prepare().catch(() => undefined))
  const watching = nft.watch(
    shareNext(async () => {
      await clock.sleep(BURST_MS)
      await confirm()
    }),
  )

  return {
    async stop() {
      const parts = [following, describing, confirming, choosing, measuring, keeping, watching]
      await Promise.all(parts.map((part) => part.stop()))
    },
  }
}
