/** Schedules in words. */
import type { TriggerAction } from '../../api/types.ts'

export const PRESETS = [
  { value: '0 * * * *', text: 'Every hour' },
  { value: '0 3 * * *', text: 'Every day at 03:00' },
  { value: '0 3 * * MON-FRI', text: 'Monday to Friday at 03:00' },
  { value: '0 3 * * MON', text: 'Every Monday at 03:00' },
  { value: '0 3 1 * *', text: 'On the first of each month at 03:00' },
] as const

/** `18 Nov 2026, 03:00`, by the clock of the schedule and not of the reader. */
export function timesIn(times: readonly string[], timeZone: string): string[] {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'medium', timeStyle: 'short' })
  return times.map((time) => format.format(Date.parse(time)))
}

/** As the command line takes it. */
export const typedAction = (action: TriggerAction): string =>
  action === 'PURGE_CACHE' ? 'purge' : action.toLowerCase().replaceAll('_', '-')
