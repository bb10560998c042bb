/** The operation of a call: its state, and a link to its build. An old operation is looked up on demand. */
import { Link, useLocation } from 'wouter'
import { call } from '../../api/client.ts'
import { useAction } from '../../api/data.ts'
import { isOfBuild, operationState } from '../../api/live/state.ts'
import { idOf, type Place } from '../../api/names.ts'
import type { Operation } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { StatePill } from '../../components/facts/state-pill.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { environmentPath } from '../../paths.ts'
import css from './trigger-table.module.css'

type Props = { place: Place; name: string; known: Operation | undefined }

export function OperationCell({ place, name, known }: Props) {
  if (!known) return <Find place={place} name={name} />
  return (
    <span className={css.became}>
      <StatePill shown={operationState(known)} />
      {isOfBuild(known) && <Link href={buildPath(place, known)}>Build</Link>}
    </span>
  )
}

const buildPath = (place: Place, { metadata }: Operation) => environmentPath(place, `builds/${idOf(metadata.build)}`)

function Find({ place, name }: { place: Place; name: string }) {
  const [, go] = useLocation()
  const say = useToast()
  const find = useAction(() => call<Operation>(`/v1/${name}`))

  async function open() {
    const operation = await find.run()
    if (!operation) return say('The operation is not kept any more.', { tone: 'warn' })
    if (isOfBuild(operation)) return go(buildPath(place, operation))
    say(`It built nothing: ${operationState(operation).word.toLowerCase()}.`)
  }

  return (
    <Button small busy={find.isBusy} onClick={open}>
      Look up
    </Button>
  )
}
