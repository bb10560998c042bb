/** Gives a user another role. */
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useAction } from '../../api/data.ts'
import type { User } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { Dialog, DialogActions } from '../../components/controls/dialog.tsx'
import { Form } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { SESSION_KEY } from '../../session/session.tsx'
import { RoleChoice } from './role-choice.tsx'
import { roleWord } from './roles.ts'

type Props = { account: string; user: User; isSelf: boolean; onClose(): void }

export function ChangeRole({ account, user, isSelf, onClose }: Props) {
  const [role, setRole] = useState(user.role)
  const say = useToast()
  const change = useAction(() => call<User>(`/v1/${user.name}`, { method: 'PATCH', body: { role } }), {
    // The session is fetched again, as the user's own role decides which controls are shown.
    refreshes: [`accounts/${account}/users`, ...(isSelf ? SESSION_KEY : [])],
  })

  async function submit() {
    if (!(await change.run())) return
    onClose()
    say(`${user.email} is ${roleWord(role).toLowerCase()} now.`)
  }

  return (
    <Dialog title={`Role of ${user.email}`} onClose={onClose}>
      <Form label={`Role of ${user.email}`} onSubmit={submit}>
        <RoleChoice role={role} onChange={setRole} />
        {isSelf && role !== 'owner' && <p>This is you. Only another owner can change it back.</p>}
        <ProblemNote problem={change.problem} />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" busy={change.isBusy} disabled={role === user.role}>
            Change role
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
