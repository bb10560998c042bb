/**
 * Follows the output of instances, each by a stream of its own that is begun again where it broke. Docker has no position in an
 * output but the time, which two pieces may share: so what was given is counted, and a stream that is begun again skips that much.
 */
import type { Clock, Log } from '../base/index.ts'
import type { Docker } from './docker/client.ts'
import type { TaskOutput } from './docker/log-frames.ts'

/** How far the output of an instance was read. It can be stored, and given to another process. */
export type OutputPosition = Partial<Record<TaskOutput['stream'], { time: string; count: number }>>

export type FollowedInstance = { instance: string; position?: OutputPosition | undefined }

type Parts = {
  docker: Pick<Docker, 'taskLogs'>
  clock: Clock
  log: Log
  /** A piece of output, in the order of its stream. Nothing more of this instance is read until what it returns has resolved. */
  onOutput(instance: string, output: TaskOutput): Promise<void> | undefined
  /** Nothing more of it comes. */
  onEnd?(instance: string, position: OutputPosition): void
}

type Following = {
  position: OutputPosition
  isWanted: boolean
  /** Of the stream that is read now. */
  reading: AbortController
  leaving: AbortController
  over: Promise<void>
}

/** The two streams of an instance are not in order with each other, but for a moment: so much is asked for again. */
const OVERLAP_MS = 5000
const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 30_000
/** The last lines of an instance that has ended are waited for. */
const LAST_LINES_MS = 10_000

export function createTaskLogs({ docker, clock, log, onOutput, onEnd }: Parts) {
  const followed = new Map<string, Following>()
  let isStopped = false

  /** Until the output ends or the stream breaks. Resolves to whether there was something new. */
  async function read(instance: string, following: Following): Promise<boolean> {
    const { position, leaving, isWanted: isFollowed } = following
    const reading = new AbortController()
    following.reading = reading
    const signal = AbortSignal.any([leaving.signal, reading.signal])
    const skip = skipUpTo(position)
    let isAny = false
    for await (const output of docker.taskLogs(instance, { since: sinceOf(position), isFollowed, signal })) {
      if (skip(output)) continue
      isAny = true
      // Before it is given: if the receiver fails, it is lost, and not there twice.
      advance(position, output)
      await onOutput(instance, output)
    }
    return isAny
  }

  async function follow(instance: string, following: Following) {
    const { signal } = following.leaving
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; ) {
      const { isWanted } = following
      try {
        if (await read(instance, following)) pauseMs = FIRST_PAUSE_MS
        // Everything that it has written was read after its end.
        if (!isWanted && !following.isWanted) return
      } catch (error) {
        if (signal.aborted) return
        log.debug({ err: error, instance }, 'the output of an instance cannot be followed now')
      }
      // What has ended meanwhile is read to its end at once.
      if (following.isWanted || !isWanted)
        await clock.sleep(pauseMs, AbortSignal.any([signal, following.reading.signal]))
      pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)
    }
  }

  function begin({ instance, position = {} }: FollowedInstance) {
    const leaving = new AbortController()
    const following: Following = {
      position: { ...position },
      isWanted: true,
      reading: new AbortController(),
      leaving,
      over: Promise.resolve(),
    }
    followed.set(instance, following)
    following.over = follow(instance, following).finally(() => {
      leaving.abort()
      followed.delete(instance)
      onEnd?.(instance, { ...following.position })
    })
  }

  async function end(following: Following) {
    following.isWanted = false
    following.reading.abort()
    await clock.sleep(LAST_LINES_MS, following.leaving.signal)
    if (!following.isWanted) following.leaving.abort()
  }

  return {
    /** These instances run; others that were followed have ended, and their last lines are read. */
    follow(instances: readonly FollowedInstance[]) {
      if (isStopped) return
      const running = new Set(instances.map(({ instance }) => instance))
      for (const [instance, following] of followed) {
        if (!running.has(instance) && following.isWanted) end(following)
      }
      for (const one of instances) {
        const known = followed.get(one.instance)
        if (known) known.isWanted = true
        else begin(one)
      }
    },

    /** How far each instance was read. */
    positions: (): Map<string, OutputPosition> =>
      new Map([...followed].map(([instance, { position }]) => [instance, { ...position }])),

    async stop() {
      isStopped = true
      const all = [...followed.values()]
      for (const { leaving } of all) leaving.abort()
      await Promise.all(all.map(({ over }) => over))
    },
  }
}

export type TaskLogs = ReturnType<typeof createTaskLogs>

/** In seconds, as Docker takes it. Times of nodes are compared with each other only within one instance. */
function sinceOf(position: OutputPosition): number {
  const times = Object.values(position).map(({ time }) => Date.parse(time))
  return times.length === 0 ? 0 : Math.max(0, Math.floor((Math.max(...times) - OVERLAP_MS) / 1000))
}

function advance(position: OutputPosition, { stream, time }: TaskOutput) {
  const before = position[stream]
  position[stream] = { time, count: before?.time === time ? before.count + 1 : 1 }
}

/** Whether a piece of a stream that was begun again was there before. */
function skipUpTo(position: OutputPosition): (output: TaskOutput) => boolean {
  const left = new Map(Object.entries(position).map(([stream, at]) => [stream, { ...at }]))
  return ({ stream, time }) => {
    const known = left.get(stream)
    if (!known || time > known.time) return false
    if (time < known.time) return true
    known.count -= 1
    return known.count >= 0
  }
}
