/** No webhooks yet: what they are for, and what each would do. */
import type { Place } from '../../api/names.ts'
import { Button } from '../../components/controls/button.tsx'
import { Empty } from '../../components/feedback/empty.tsx'
import { ACTION_WORDS } from './actions.ts'
import css from './page.module.css'

type Props = { place: Place; canWrite: boolean; isBusy: boolean; onCreate(): void }

export function NoWebhooks({ place, canWrite, isBusy, onCreate }: Props) {
  return (
    <Empty
      title="No webhooks yet"
      {...(canWrite
        ? {
            action: (
              <Button kind="primary" busy={isBusy} onClick={onCreate}>
                Create webhooks
              </Button>
            ),
            curl: { method: 'POST' as const, path: `/v1/${place.name}/webhooks` },
          }
        : {})}
    >
      <div className={css.list}>
        <p>
          Three URLs that update the site when they are called by POST: by a CMS after publishing, by a cron job at
          night, or by a person.
        </p>
        <dl className={css.list}>
          {Object.values(ACTION_WORDS).map(({ name, does, use }) => (
            <div key={name}>
              <dt>
                <strong>{name}</strong>
              </dt>
              <dd>
                {does} {use}
              </dd>
            </div>
          ))}
        </dl>
        {!canWrite && <p>A developer or an owner can create them.</p>}
      </div>
    </Empty>
  )
}
