/** Visitors who ask for sites through edges, one request after the other on each way, and what they got. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Scope } from '../folder.ts'
import { siteAnswer } from '../service/environment.ts'
import type { TestService } from '../service/service.ts'
import { until } from '../until.ts'

export type Way = { edge: Pick<TestService, 'edge'>; edgeName: string; site: string; url: string }
type Visit = { edge: string; site: string; begin: number; end: number; outcome: string }

/** `awayMs`: the longest time between two good answers on one way. */
export type Figures = {
  requests: number
  failed: number
  byEdge: Record<string, number>
  awayMs: number
  examples: string[]
}

const PAUSE_MS = 25
/** An answer that takes longer counts as none. */
const ANSWER_MS = 30_000

export function startVisitors(t: Scope, ways: readonly Way[]) {
  const visits: Visit[] = []
  const stopping = new AbortController()

  async function ask({ edge, url }: Way): Promise<string> {
    try {
      const late = wait(ANSWER_MS, undefined, { ref: false }).then(() => ({ status: 0, text: 'no answer' }))
      const { status, text } = await Promise.race([siteAnswer(edge, url), late])
      return status === 200 ? 'ok' : `${status} ${text.slice(0, 200)}`
    } catch (error) {
      return String((error as NodeJS.ErrnoException).code ?? error)
    }
  }

  async function visit(way: Way) {
    while (!stopping.signal.aborted) {
      const begin = performance.now()
      const outcome = await ask(way)
      visits.push({ edge: way.edgeName, site: way.site, begin, end: performance.now(), outcome })
      await wait(PAUSE_MS)
    }
  }
  const walking = ways.map(visit)
  const stop = async () => {
    stopping.abort()
    await Promise.all(walking)
  }
  t.after(stop)

  return {
    stop,
    /** What visitors got while this was done. */
    async during(work: () => Promise<unknown>): Promise<Figures> {
      const begin = performance.now()
      await work()
      const end = performance.now()
      const isOver = ({ edgeName, site }: Way) =>
        visits.some((visited) => visited.edge === edgeName && visited.site === site && visited.begin > end)
      await until(() => ways.every(isOver), 'what was asked meanwhile is answered')
      const seen = visits.filter((visited) => visited.begin >= begin && visited.begin <= end)
      const failed = seen.filter(({ outcome }) => outcome !== 'ok')
      const byEdge: Record<string, number> = {}
      for (const { edge } of failed) byEdge[edge] = (byEdge[edge] ?? 0) + 1
      const away = ways.map(({ edgeName, site }) => awayMs(seen, edgeName, site, begin))
      const examples = [...new Set(failed.map(({ edge, site, outcome }) => `${edge} ${site}: ${outcome}`))].slice(0, 5)
      return { requests: seen.length, failed: failed.length, byEdge, awayMs: Math.round(Math.max(...away)), examples }
    },
  }
}

function awayMs(seen: readonly Visit[], edge: string, site: string, begin: number): number {
  const ends = seen.flatMap((visit) =>
    visit.edge === edge && visit.site === site && visit.outcome === 'ok' ? visit.end : [],
  )
  return Math.max(0, ...ends.map((end, at) => end - (ends[at - 1] ?? begin)))
}
