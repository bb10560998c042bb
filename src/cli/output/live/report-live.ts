/**
 * The progress of a deploy as a live view: steps, times and the end of the log, drawn in place. When it is over, the steps stay,
 * and the result is told as in a pipe.
 */
import type { Build } from '../../../client/index.ts'
import { shortId } from '../../../contract/index.ts'
import { secondsInWords } from '../figures.ts'
import { type Report, type Success, totalSeconds } from '../report.ts'
import { createTextReport, sayWarnings } from '../report-text.ts'
import { oneLine } from '../rows.ts'
import type { Terminal } from '../terminal.ts'
import { accepted, connection, ended, logged, type Model, polled, START, uploading } from './model.ts'
import { summaryOf, viewOf } from './view.ts'

const FRAME_MS = 100

export function createLiveReport(terminal: Terminal): Report {
  const { say, paint } = terminal
  const text = createTextReport(terminal)
  let model: Model = START
  let frames: NodeJS.Timeout | undefined

  /** Events only change the model. It is drawn at a fixed pace, however many lines a build writes. */
  function draw() {
    const { columns, rows } = terminal
    terminal.draw(viewOf(model, { columns: columns() - 1, rows: rows() - 1 }, Date.now()))
  }

  function become(next: Model) {
    model = next
    if (frames) return
    say('')
    draw()
    frames = setInterval(draw, FRAME_MS).unref()
  }

  function close() {
    clearInterval(frames)
    frames = undefined
    terminal.draw(undefined)
  }

  /** The view collapses to what is worth keeping. */
  function finish(build: Build | undefined, { isFailed }: { isFailed: boolean }) {
    close()
    model = ended(model, build, Date.now())
    for (const line of summaryOf(model, { isFailed })) {
      say(line.map(({ text, colour }) => (colour ? paint(colour, text) : text)).join(''))
    }
  }

  const wholeLog = ({ name }: Pick<Build, 'name'>) =>
    say(paint('dim', `The whole log: headland logs --build ${oneLine(shortId(name))}`))

  return {
    ...text,
    uploading: (sentBytes, totalBytes) => become(uploading(model, sentBytes, totalBytes, Date.now())),
    accepted: (operation) => become(accepted(model, operation, Date.now())),
    state: (operation) => become(polled(model, operation, Date.now())),
    line: (line) => become(logged(model, line, Date.now())),
    connection: (isThere) => become(connection(model, isThere)),
    succeeded({ url, build }: Success) {
      finish(build, { isFailed: false })
      const total = secondsInWords(totalSeconds(build))
      say('')
      say(
        build.unchanged
          ? `Unchanged after ${total}: visitors get this output already.`
          : `${paint('green', 'Live')} after ${total}.`,
      )
      sayWarnings(terminal, build)
      terminal.print(paint('cyan', oneLine(url)))
    },
    failed(failed) {
      finish(failed.build, { isFailed: true })
      text.failed(failed)
      wholeLog(failed.build)
    },
    held(build, held, message) {
      finish(build, { isFailed: false })
      text.held(build, held, message)
      wholeLog(build)
    },
    cancelled(build, reason, message) {
      finish(build, { isFailed: true })
      text.cancelled(build, reason, message)
    },
    detached(operation) {
      close()
      text.detached(operation)
    },
    left(operation) {
      close()
      text.left(operation)
      say(`To cancel it: headland builds cancel ${oneLine(shortId(operation.metadata.build))}`)
    },
    close,
  }
}
