/** Events about changes, as they happen. */
import { object, type Static, string } from '../schema.ts'

export const change = object(
  {
    name: string({
      description:
        'What has changed, by its name: an app, environment, operation, build, deployment, credential, notification target or user; or `…/domains`, `…/webhooks`, `…/schedules`, `…/repository`, `…/triggers`, `…/publishes`, `…/publishTimes` of an environment, or `…/deliveries` of a notification target. Read it again to see how; it may be gone.',
    }),
  },
  { title: 'Change' },
)
export type Change = Static<typeof change>

export const eventStream = string({
  description:
    'Server-sent events. `hello`: read everything again that you show; it comes first, and again where too much changed at once. `change`: its data is a Change. The same name comes at most five times a second.',
})
