/** Connects a repository. */
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useAction } from '../../api/data.ts'
import { at, headland } from '../../api/headland.ts'
import type { Place } from '../../api/names.ts'
import type { IssuedRepository } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { Curl } from '../../components/controls/curl.tsx'
import { Dialog, DialogActions } from '../../components/controls/dialog.tsx'
import { Form, isAllInFields, TextField } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { changesOf, FIELD_NAMES, NEW, optionsOf, RepositoryFields } from './fields.tsx'

type Props = { place: Place; path: string; onClose(): void; onConnected(made: IssuedRepository): void }

export function Connect({ place, path, onClose, onConnected }: Props) {
  const [url, setUrl] = useState('')
  const [values, setValues] = useState(NEW)
  const { branch, token } = values
  const isHttps = /^https:/i.test(url.trim())
  const shown = { url, branch, ...changesOf(NEW, values) }
  const body = { ...shown, ...(token === '' ? {} : { token }) }
  const make = useAction(() => call<IssuedRepository>(`/v1/${path}`, { method: 'POST', body }), { refreshes: [path] })

  async function submit() {
    const made = await make.run()
    if (made) onConnected(made)
  }

  return (
    <Dialog title="Connect a repository" onClose={onClose}>
      <Form label="Connect a repository" onSubmit={submit}>
        <TextField
          label="Address"
          name="url"
          mono
          autoComplete="off"
          value={url}
          onChange={(event) => setUrl(event.target.value)}
          problem={make.problem}
          hint="https://github.com/acme/site.git, or git@github.com:acme/site.git with a deploy key that is made here."
        />
        <RepositoryFields
          values={values}
          before={NEW}
          onChange={setValues}
          problem={make.problem}
          tokenHint={
            isHttps
              ? 'For a private repository, and for commit statuses. It is stored sealed, and never shown.'
              : 'Only for commit statuses. It is stored sealed, and never shown.'
          }
          noProvider="Known from the host"
        />
        {!isAllInFields(make.problem, ['url', ...FIELD_NAMES]) && <ProblemNote problem={make.problem} />}
        <Curl
          command={headland(['repository', 'connect', url || 'URL'], {
            branch,
            ...optionsOf(NEW, values),
            ...at(place),
          })}
          method="POST"
          path={`/v1/${path}`}
          body={shown}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" busy={make.isBusy} disabled={url.trim() === '' || branch.trim() === ''}>
            Connect
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
