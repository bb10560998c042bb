/** The definitions of commands about schedules. Their code is loaded when they are run. */
import { type ClientCommand, ENVIRONMENT_OPTIONS } from '../../command.ts'
import { YES_OPTION } from '../../options.ts'
import { ACTIONS } from './actions.ts'

export const SCHEDULE_COMMANDS: readonly ClientCommand[] = [
  {
    name: 'schedules',
    positionals: [],
    summary: 'List the schedules of an environment, and when they run next',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./schedules.ts')).listSchedules(call),
  },
  {
    name: 'schedules create',
    positionals: ['CRON'],
    summary: "Rebuild an environment again and again, at the times of a cron expression: '30 3 * * *', @daily",
    options: {
      action: { type: 'string', oneOf: Object.keys(ACTIONS), describe: 'What is done; rebuild unless it is given.' },
      'time-zone': {
        type: 'string',
        value: 'ZONE',
        describe: 'Of the times, such as Europe/Berlin; UTC unless given.',
      },
      ...ENVIRONMENT_OPTIONS,
    },
    run: async (call) => (await import('./schedules.ts')).createSchedule(call),
  },
  {
    name: 'schedules pause',
    positionals: ['ID'],
    summary: 'Let a schedule wait until it is resumed',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./schedules.ts')).pauseSchedule(call),
  },
  {
    name: 'schedules resume',
    positionals: ['ID'],
    summary: 'Let a paused schedule run again',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./schedules.ts')).resumeSchedule(call),
  },
  {
    name: 'schedules delete',
    positionals: ['ID'],
    summary: 'Delete a schedule',
    options: { ...YES_OPTION, ...ENVIRONMENT_OPTIONS },
    run: async (call) => (await import('./schedules.ts')).deleteSchedule(call),
  },
]
