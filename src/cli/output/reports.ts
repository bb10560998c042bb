/** Chooses the report of a deploy: JSON for programs, a live view in a terminal, or text. */
import type { ClientCall } from '../command.ts'
import { createLiveReport } from './live/report-live.ts'
import type { Report } from './report.ts'
import { createJsonReport } from './report-json.ts'
import { createTextReport } from './report-text.ts'

type Asked = Pick<ClientCall, 'terminal' | 'options'>

export const reportFor = ({ terminal, options }: Asked): Report =>
  options.json ? createJsonReport(terminal) : createTextReport(terminal)

/** Of a command that follows a build to its end. */
export const reportOfBuild = (call: Asked): Report =>
  call.terminal.isDrawn && !call.options.plain && !call.options.json ? createLiveReport(call.terminal) : reportFor(call)
