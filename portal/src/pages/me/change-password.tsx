/** Changes the user's own password. All other sessions of the user end. */
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useAction } from '../../api/data.ts'
import { Button } from '../../components/controls/button.tsx'
import { Form, FormActions, isAllInFields, TextField } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'

const FIELDS = ['password', 'newPassword'] as const
const NOTHING = { password: '', newPassword: '', again: '' }

export function ChangePassword({ email }: { email: string }) {
  const [draft, setDraft] = useState(NOTHING)
  const [isChecked, setChecked] = useState(false)
  const say = useToast()
  const { password, newPassword, again } = draft
  const change = useAction(() =>
    call('/v1/session:changePassword', { method: 'POST', body: { password, newPassword } }),
  )
  const isWrong = change.problem?.reason === 'PASSWORD_WRONG'
  const isDifferent = again !== newPassword

  async function submit() {
    setChecked(true)
    if (isDifferent || !(await change.run())) return
    setDraft(NOTHING)
    setChecked(false)
    say('The password is changed, and your other sessions are over.')
  }

  const input = (name: keyof typeof NOTHING) => ({
    name,
    type: 'password',
    required: true,
    value: draft[name],
    problem: change.problem,
    onChange: (event: { target: { value: string } }) => setDraft({ ...draft, [name]: event.target.value }),
  })

  return (
    <Form label="Change the password" onSubmit={submit}>
      {/* Password managers need the user name. */}
      <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
      <TextField
        label="Current password"
        {...input('password')}
        autoComplete="current-password"
        fault={isWrong ? change.problem?.message : undefined}
      />
      <TextField
        label="New password"
        {...input('newPassword')}
        autoComplete="new-password"
        hint="12 characters or more. Your other sessions end when it is changed."
      />
      <TextField
        label="New password again"
        {...input('again')}
        autoComplete="new-password"
        fault={isChecked && isDifferent ? 'It is not the same as the new password.' : undefined}
      />
      {!isWrong && !isAllInFields(change.problem, FIELDS) && <ProblemNote problem={change.problem} />}
      <FormActions>
        <Button
          kind="primary"
          type="submit"
          busy={change.isBusy}
          disabled={password === '' || newPassword === '' || again === ''}
        >
          Change password
        </Button>
      </FormActions>
    </Form>
  )
}
