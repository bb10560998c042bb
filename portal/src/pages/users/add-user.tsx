/** Adds a user to the account. */
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useAction } from '../../api/data.ts'
import { headland } from '../../api/headland.ts'
import type { AddedUser, Role } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { Curl } from '../../components/controls/curl.tsx'
import { Dialog, DialogActions } from '../../components/controls/dialog.tsx'
import { Form, isAllInFields, TextField } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { RoleChoice } from './role-choice.tsx'

type Props = { account: string; onClose(): void; onAdded(user: AddedUser): void }

export function AddUser({ account, onClose, onAdded }: Props) {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('developer')
  const path = `/v1/accounts/${account}/users`
  const body = { email: email.trim(), role }
  const add = useAction(() => call<AddedUser>(path, { method: 'POST', body }), {
    refreshes: [`accounts/${account}/users`],
  })

  async function submit() {
    const added = await add.run()
    if (added) onAdded(added)
  }

  return (
    <Dialog title="Add a user" onClose={onClose}>
      <Form label="Add a user" onSubmit={submit}>
        <TextField
          label="E-mail"
          name="email"
          type="email"
          inputMode="email"
          autoComplete="off"
          autoCapitalize="none"
          required
          value={email}
          onChange={(event) => setEmail(event.target.value)}
          problem={add.problem}
          hint="A new user gets a password, which you are shown once and pass on. An existing user is asked at the next log-in. No mail is sent."
        />
        <RoleChoice role={role} onChange={setRole} />
        {!isAllInFields(add.problem, ['email']) && <ProblemNote problem={add.problem} />}
        <Curl
          command={headland(['users', 'create', body.email || 'name@example.com'], { account, role })}
          isOfOperator
          method="POST"
          path={path}
          body={body}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" busy={add.isBusy} disabled={body.email === ''}>
            Add user
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
