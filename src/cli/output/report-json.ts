/** A deploy as JSON: one object for each event, on a line of its own. Names are those of the API. */
import type { Failed, Report, Success } from './report.ts'
import { totalSeconds, warningsIn } from './report.ts'
import type { Terminal } from './terminal.ts'

/** How often the progress of an upload is reported. */
const PROGRESS_MS = 1000

export function createJsonReport(terminal: Pick<Terminal, 'print'>): Report {
  const printResult = (event: string, facts: object) => terminal.print(JSON.stringify({ event, ...facts }))
  let phase = ''
  let reportedMs = 0
  let lastWaiting = JSON.stringify({})

  return {
    note: (message) => printResult('note', { message }),
    created: (what, name) => printResult('created', { [what]: name }),
    preview: ({ name, displayName, url, preview }) =>
      printResult('preview', {
        environment: name,
        displayName,
        url,
        branch: preview?.branch,
        expireTime: preview?.expireTime,
      }),
    variablesSet: (keys) => printResult('variables', { set: keys }),
    archive: ({ files, bytes, digest }) => printResult('archive', { files, bytes, digest }),
    described: ({ message, commit }) => printResult('described', { message, commit }),
    uploading(sentBytes, totalBytes) {
      if (performance.now() - reportedMs < PROGRESS_MS) return
      reportedMs = performance.now()
      printResult('uploading', { sentBytes, totalBytes })
    },
    accepted: ({ name, metadata: { build, trigger } }) =>
      printResult(trigger === 'UPLOAD' ? 'uploaded' : 'accepted', { operation: name, build, trigger }),
    state({ metadata: { phase: now, queuePosition, settlesUntil, waiting } }) {
      const current = JSON.stringify({ queuePosition, settlesUntil, waiting })
      if (now !== 'QUEUED' || current === lastWaiting) return
      lastWaiting = current
      printResult('waiting', { queuePosition, settlesUntil, ...waiting })
    },
    line({ number, time, phase: of, stream, text }) {
      const at = new Date(time).toISOString()
      if (of !== phase) printResult('phase', { phase: of, time: at })
      phase = of
      printResult('line', { number, time: at, phase: of, stream, text })
    },
    connection: (isThere) => printResult('connection', { isThere }),
    succeeded: ({ url, build, deployment }: Success) =>
      printResult('done', {
        url,
        build: build.name,
        deployment,
        unchanged: build.unchanged,
        warnings: warningsIn(build),
        durations: build.durations,
        seconds: totalSeconds(build),
      }),
    failed: ({ build, failure, lines }: Failed) =>
      printResult('failed', { build: build.name, state: build.state, ...failure, lines, seconds: totalSeconds(build) }),
    held: ({ name, state }, held, message) => printResult('held', { build: name, state, ...held, message }),
    cancelled: ({ name, state }, reason, message) => printResult('cancelled', { build: name, state, reason, message }),
    detached: () => undefined,
    left: ({ name, metadata }) => printResult('left', { operation: name, build: metadata.build }),
    close: () => undefined,
  }
}
