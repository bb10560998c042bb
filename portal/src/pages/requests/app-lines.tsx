/** What the app wrote while it answered a request, and a second before and after. */
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import { ask } from '../../api/client.ts'
import type { Place } from '../../api/names.ts'
import { type Problem, problemOf } from '../../api/problem.ts'
import type { RequestRecord } from '../../api/types.ts'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import type { Line } from '../../log/lines.ts'
import { createTextReader } from '../../log/read-lines.ts'
import { environmentPath } from '../../paths.ts'
import css from './app-lines.module.css'

const AROUND_MS = 1000
const MAX_LINES = 30

export function AppLines({ place, request }: { place: Place; request: RequestRecord }) {
  const [lines, setLines] = useState<Line[]>()
  const [problem, setProblem] = useState<Problem>()
  useEffect(() => {
    const over = new AbortController()
    linesAround(`/v1/${place.name}/logs`, request, over.signal).then(setLines, (error) => {
      if (!over.signal.aborted) setProblem(problemOf(error))
    })
    return () => over.abort()
  }, [place.name, request])

  if (problem) return <ProblemNote problem={problem} />
  if (!lines) return <p className={css.note}>Reading the log of the app…</p>
  if (lines.length === 0) return <p className={css.note}>The app wrote nothing at that time.</p>
  return (
    <section className={css.lines} aria-label="What the app wrote at that time">
      {lines.map(({ number, text, stream }) => (
        <Link
          key={number}
          href={`${environmentPath(place, 'logs')}#L${number}`}
          className={stream === 'stderr' ? css.error : css.line}
        >
          {text}
        </Link>
      ))}
    </section>
  )
}

async function linesAround(address: string, { time, durationMs }: RequestRecord, signal: AbortSignal): Promise<Line[]> {
  const end = Date.parse(time)
  const [from, until] = [end - durationMs - AROUND_MS, end + AROUND_MS]
  const found: Line[] = []
  const take = createTextReader((lines) => {
    found.push(...lines.filter((line) => line.time >= from && line.time <= until))
    if (found.length > MAX_LINES) found.splice(0, found.length - MAX_LINES)
  })
  const response = await ask(address, { signal, headers: { accept: 'text/plain' } })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  while (reader) {
    const { value, done } = await reader.read()
    if (done) break
    take(value)
  }
  return found
}
