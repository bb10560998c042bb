/** The body of a webhook: type, time and data, as the Standard Webhooks specification recommends. */
import { toRfc3339 } from '../../base/index.ts'
import type { resources } from '../../contract/index.ts'
import type { Message } from './message.ts'

const TYPES: Record<resources.DeliveredKind, string> = {
  BUILD_FAILED: 'build.failed',
  BUILD_RECOVERED: 'build.recovered',
  BUILD_LIVE: 'build.live',
  APP_CRASH_LOOP: 'app.crash_loop',
  CERTIFICATE_FAILING: 'certificate.failing',
  DISK_NEARLY_FULL: 'disk.nearly_full',
  QUOTA_NEARLY_FULL: 'quota.nearly_full',
  PUBLISH_LATE: 'publish.late',
  TEST: 'test',
}

export const toWebhook = ({ kind, account, app, environment, resource, title, text, link, time }: Message) => ({
  type: TYPES[kind],
  timestamp: toRfc3339(time),
  data: {
    account,
    ...(app === null ? {} : { app }),
    ...(environment === null ? {} : { environment }),
    resource,
    title,
    text,
    ...(link === null ? {} : { link }),
  },
})
