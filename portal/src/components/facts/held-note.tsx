/**
 * A build that was held because its output looks wrong: what is missing, whether it is retried, and the button to make
 * it live.
 */
import { useState } from 'react'
import { Link } from 'wouter'
import { call } from '../../api/client.ts'
import { idOf, type Place } from '../../api/names.ts'
import { retryInWords } from '../../api/retry.ts'
import type { Environment, Operation } from '../../api/types.ts'
import { environmentPath } from '../../paths.ts'
import { useSession } from '../../session/session.tsx'
import { Button } from '../controls/button.tsx'
import { useConfirm } from '../controls/confirm.tsx'
import { Icon } from '../layout/icon.tsx'
import css from './held-note.module.css'
import { OperationProgress } from './operation.tsx'

type Held = NonNullable<Environment['held']>

type Props = {
  place: Place
  held: Held
  retry: Environment['retry']
  /** Left out on the page of the build itself. */
  linksToBuild?: boolean
}

export function HeldNote({ place, held, retry, linksToBuild = false }: Props) {
  const { canWrite } = useSession()
  const confirm = useConfirm()
  const [started, setStarted] = useState<string>()

  const ask = () =>
    confirm({
      title: 'Make the held deployment live?',
      children: <p className={css.message}>{held.message}</p>,
      stops: ['Visitors get this output from now on, without what is missing in it.'],
      label: 'Make it live',
      kind: 'primary',
      run: async () => setStarted((await call<Operation>(`/v1/${held.deployment}:activate`, { method: 'POST' })).name),
    })

  return (
    <section className={css.held} aria-label="Held build">
      <Icon name="warning" />
      <div className={css.body}>
        <h2>The last build is held: it is not live</h2>
        <p className={css.message}>{held.message}</p>
        <p>Visitors get what they got before. {retry && retryInWords(retry)}</p>
        <div className={css.foot}>
          {canWrite && <Button onClick={ask}>Make it live</Button>}
          {linksToBuild && <Link href={environmentPath(place, `builds/${idOf(held.build)}`)}>Build and log</Link>}
        </div>
        {started && <OperationProgress key={started} name={started} />}
      </div>
    </section>
  )
}

/** No build is held, and a build that failed by an outage is being retried. */
export function RetryNote({ retry }: { retry: NonNullable<Environment['retry']> }) {
  return (
    <section className={css.held} aria-label="Retry">
      <Icon name="warning" />
      <div className={css.body}>
        <p>The last build could not reach a server that it needs. {retryInWords(retry)}</p>
      </div>
    </section>
  )
}
