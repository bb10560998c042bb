/** Chooses the report of a deploy: text for people, or JSON for programs. */
import type { ClientCall } from '../command.ts'
import type { Report } from './report.ts'
import { createJsonReport } from './report-json.ts'
import { createTextReport } from './report-text.ts'

export const reportFor = ({ terminal, options }: Pick<ClientCall, 'terminal' | 'options'>): Report =>
  options.json ? createJsonReport(terminal) : createTextReport(terminal)
