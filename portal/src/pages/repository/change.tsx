/** Changes how a connected repository is followed. */
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useAction } from '../../api/data.ts'
import { at, headland } from '../../api/headland.ts'
import type { Place } from '../../api/names.ts'
import type { Repository } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { Curl } from '../../components/controls/curl.tsx'
import { Dialog, DialogActions } from '../../components/controls/dialog.tsx'
import { Form, isAllInFields } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { changesOf, FIELD_NAMES, optionsOf, RepositoryFields, valuesOf } from './fields.tsx'

type Props = { place: Place; path: string; repository: Repository; onClose(): void }

export function Change({ place, path, repository, onClose }: Props) {
  const say = useToast()
  const before = valuesOf(repository)
  const [values, setValues] = useState(before)
  const { branch, token } = values
  const shown = changesOf(before, values)
  const body = { ...shown, ...(token === '' ? {} : { token }), etag: repository.etag }
  const isSame = Object.keys(shown).length === 0 && token === ''
  const save = useAction(() => call<Repository>(`/v1/${path}`, { method: 'PATCH', body }), { refreshes: [path] })

  async function submit() {
    if (!(await save.run())) return
    say('Saved.')
    onClose()
  }

  return (
    <Dialog title="Change the repository" onClose={onClose}>
      <Form label="Change the repository" onSubmit={submit}>
        <RepositoryFields
          values={values}
          before={before}
          onChange={setValues}
          problem={save.problem}
          tokenHint={repository.hasToken ? 'Empty: the stored one is kept.' : 'It is stored sealed, and never shown.'}
          noProvider="Another git server"
        />
        {!isAllInFields(save.problem, FIELD_NAMES) && <ProblemNote problem={save.problem} />}
        <Curl
          command={headland(['repository', 'change'], { ...optionsOf(before, values), ...at(place) })}
          method="PATCH"
          path={`/v1/${path}`}
          body={shown}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" busy={save.isBusy} disabled={isSame || branch.trim() === ''}>
            Save
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
