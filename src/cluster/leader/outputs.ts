/**
 * Follows the output of all instances while this process leads, and writes it to the logs of their apps. How far each was read is
 * in its row, so the next leader goes on from there.
 */
import { type Clock, type Log, repeat } from '../../base/index.ts'
import { LeadershipLost, type LineLogs, type Term, type Vault } from '../../storage/index.ts'
import { createTaskLogs, type Docker, type OutputPosition, type TaskOutput } from '../../swarm/index.ts'
import { outputText, readOutput, STARTING } from '../output-text.ts'
import type { AppRecords } from '../records.ts'
import type { InstanceRow } from '../rows.ts'
import type { View } from '../view.ts'
import { createOutputLogs } from './output-logs.ts'

type Parts = {
  clock: Clock
  log: Log
  docker: Pick<Docker, 'taskLogs'>
  vault: Pick<Vault, 'open'>
  records: Pick<AppRecords, 'outputs' | 'setOutputs' | 'recordOf'>
  view: Pick<View, 'of' | 'apps' | 'onChange'>
  logs: Pick<LineLogs, 'create'>
  term: Pick<Term, 'check'>
}

type Known = {
  instance: string
  deployment: string
  position: OutputPosition
  isOver: boolean
  /** What its row has. */
  stored: string
  isWanted: boolean
  isFollowed: boolean
}

/** A leader that is killed has read so much that the next one reads again. */
const STORE_MS = 2000
const LOAD_MS = 1000

/** One that ends on request may still write; one whose node is away cannot be read. */
const isRunning = ({ state, reason }: InstanceRow): boolean =>
  state === 'RUNNING' || (state === 'STOPPED' && reason === null)
/** It has run, and its last lines say why it ended. */
const hasCrashed = ({ state, exitCode }: InstanceRow): boolean => state === 'CRASHED' && exitCode !== null

export function followOutputs({ clock, log, docker, vault, records, view, logs, term }: Parts) {
  const stopping = new AbortController()
  const { signal } = stopping
  const known = new Map<string, Known>()
  const byDeployment = new Map<string, Set<Known>>()
  const finishing = new Set<Promise<void>>()
  /** What the leader before has read, of instances that were not seen yet. */
  let loaded: Map<string, string> | undefined
  let storing: Promise<void> | undefined
  const outputLogs = createOutputLogs({ clock, log, logs, vault, records, signal })
  const taskLogs = createTaskLogs({ docker, clock, log, onOutput, onEnd })

  const rowOf = ({ deployment, instance }: Known): InstanceRow | undefined =>
    view.of(deployment).instances.find((row) => row.instance === instance)

  function add({ instance, deployment }: InstanceRow): Known {
    const stored = loaded?.get(instance) ?? ''
    loaded?.delete(instance)
    const one: Known = { instance, deployment, ...readOutput(stored), stored, isWanted: false, isFollowed: false }
    known.set(instance, one)
    byDeployment.set(deployment, (byDeployment.get(deployment) ?? new Set()).add(one))
    return one
  }

  function forget(one: Known) {
    known.delete(one.instance)
    const own = byDeployment.get(one.deployment)
    own?.delete(one)
    if (own?.size === 0) byDeployment.delete(one.deployment)
  }

  function look(deployments: Iterable<string>) {
    if (!loaded || signal.aborted) return
    const crashed: Known[] = []
    for (const deployment of deployments) {
      const { instances } = view.of(deployment)
      const there = new Set(instances.map(({ instance }) => instance))
      for (const one of byDeployment.get(deployment) ?? []) {
        one.isWanted = false
        if (!there.has(one.instance) && !one.isFollowed) forget(one)
      }
      for (const row of instances) {
        const one = known.get(row.instance) ?? add(row)
        one.isWanted = isRunning(row)
        if (hasCrashed(row) && !one.isOver && !one.isFollowed) crashed.push(one)
      }
    }
    follow(crashed)
  }

  /** Those that run, and of those that have crashed what they have written last. */
  function follow(crashed: readonly Known[]) {
    const wanted = known.values().filter(({ isWanted }) => isWanted)
    const running = [...wanted]
    for (const one of [...running, ...crashed]) one.isFollowed = true
    if (crashed.length > 0) taskLogs.follow([...running, ...crashed])
    taskLogs.follow(running)
  }

  async function onOutput(instance: string, { stream, bytes }: TaskOutput) {
    const one = known.get(instance)
    if (!one) return
    const { deployment } = one
    const { app } = view.of(deployment)
    const isStarting = app !== undefined && app.holdTime > clock.now() && !rowOf(one)?.isReady
    await outputLogs.write({ instance, deployment, stream, phase: isStarting ? STARTING : '', bytes })
  }

  function onEnd(instance: string, position: OutputPosition) {
    const one = known.get(instance)
    if (!one) return
    one.position = position
    one.isFollowed = false
    if (signal.aborted) return
    const ending = finish(one)
      .catch((error) => log.warn({ err: error, instance }, 'the end of an output could not be recorded'))
      .finally(() => finishing.delete(ending))
    finishing.add(ending)
  }

  async function finish(one: Known) {
    await outputLogs.close(one.instance)
    if (one.isFollowed) return
    const row = rowOf(one)
    if (!row) forget(one)
    else if (one.isWanted) follow([])
    else if (hasCrashed(row)) {
      one.isOver = true
      await store()
    }
  }

  async function storeOnce(fence?: Pick<Term, 'check'>) {
    for (const [instance, position] of taskLogs.positions()) {
      const one = known.get(instance)
      if (one) one.position = position
    }
    const changed = [...known.values()]
      .map((one) => ({ one, instance: one.instance, output: outputText(one), before: one.stored }))
      .filter(({ output, before }) => output !== before)
    if (changed.length === 0) return
    await records.setOutputs(changed, fence)
    for (const { one, output } of changed) one.stored = output
  }

  /** Never rejects. Calls while one is under way wait for the next one. */
  async function store() {
    while (storing) await storing
    storing = storeOnce(term)
      .catch((error) => {
        if (!(error instanceof LeadershipLost) && !signal.aborted)
          log.warn({ err: error }, 'how far outputs of apps were read could not be recorded')
      })
      .finally(() => {
        storing = undefined
      })
    await storing
  }

  async function load() {
    while (!loaded && !signal.aborted) {
      try {
        loaded = await records.outputs()
        look([...view.apps()].map(({ deployment }) => deployment))
      } catch (error) {
        log.warn({ err: error }, 'how far outputs of apps were read is not known; they are not followed yet')
        await clock.sleep(LOAD_MS, signal)
      }
    }
  }

  const unfollow = view.onChange(look)
  const loading = load()
  const repeated = repeat(clock, STORE_MS, store)

  return {
    async stop() {
      stopping.abort()
      unfollow()
      await Promise.all([loading, repeated.stop()])
      await taskLogs.stop()
      await Promise.all(finishing)
      await outputLogs.closeAll()
      // The term may be over by now. It is recorded unless another leader has done so.
      await storeOnce().catch((error) =>
        log.warn({ err: error }, 'how far outputs of apps were read could not be recorded; lines may come twice'),
      )
    },
  }
}
