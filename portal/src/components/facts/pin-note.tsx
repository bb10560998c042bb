/** Says that a rollback pinned the environment: to which upload, since when, and the two ways to unpin it. */
import { Link } from 'wouter'
import { call } from '../../api/client.ts'
import { useAction } from '../../api/data.ts'
import { type Place, shortId } from '../../api/names.ts'
import type { Environment, Pin } from '../../api/types.ts'
import { environmentPath } from '../../paths.ts'
import { useSession } from '../../session/session.tsx'
import { Button } from '../controls/button.tsx'
import { ProblemNote } from '../feedback/problem-note.tsx'
import { useToast } from '../feedback/toasts.tsx'
import { Icon } from '../layout/icon.tsx'
import css from './pin-note.module.css'
import { Time } from './time.tsx'

type Props = { place: Place; pin: Pin | null }

export function PinNote({ place, pin }: Props) {
  const { canWrite } = useSession()
  const say = useToast()
  const unpin = useAction(() => call<Environment>(`/v1/${place.name}:unpin`, { method: 'POST' }), {
    refreshes: [place.name, `${place.name}/builds`],
  })
  if (!pin) return null

  async function end() {
    if (await unpin.run()) say('Not pinned any more. The next rebuild builds the newest upload.')
  }

  return (
    <section className={css.note} aria-label="Pinned">
      <Icon name="warning" />
      <div className={css.body}>
        <strong>This environment is pinned to an earlier upload.</strong>
        <p>
          A rollback made the deployment{' '}
          <Link href={environmentPath(place, 'deployments')}>{shortId(pin.deployment)}</Link> live,{' '}
          <Time at={pin.time} />. Rebuilds and webhooks build its archive <code>{archiveOf(pin)}</code>, and not the
          newest upload.
        </p>
        <p className={css.quiet}>
          The pin ends when an upload is live, or when you unpin. Unpinning builds nothing: the next rebuild builds the
          newest upload.
        </p>
        <ProblemNote problem={unpin.problem} />
        {canWrite && (
          <div>
            <Button busy={unpin.isBusy} onClick={end}>
              Unpin
            </Button>
          </div>
        )}
      </div>
    </section>
  )
}

/** The beginning of a digest is enough to compare archives. */
const archiveOf = ({ archive }: Pin): string => archive.replace(/^sha256:/, '').slice(0, 12)
