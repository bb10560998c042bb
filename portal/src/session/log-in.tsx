/** The log-in page. It is shown at the requested address, so after logging in the user is on that page. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { call } from '../api/client.ts'
import { useAction } from '../api/data.ts'
import { SESSION_KEY } from '../api/session-key.ts'
import type { Session } from '../api/types.ts'
import { Button } from '../components/controls/button.tsx'
import { Form, FormActions, TextField } from '../components/controls/field.tsx'
import { ProblemNote } from '../components/feedback/problem-note.tsx'
import { Mark } from '../components/layout/mark.tsx'
import css from './log-in.module.css'

export function LogIn() {
  const client = useQueryClient()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const logIn = useAction(() => call<Session>('/v1/session', { method: 'POST', body: { email, password } }))

  useEffect(() => {
    document.title = 'Log in · Headland'
  }, [])

  async function submit() {
    const session = await logIn.run()
    if (!session) return setPassword('')
    // An earlier request for the session may still be running: its response must not overwrite this one.
    await client.cancelQueries({ queryKey: SESSION_KEY })
    client.setQueryData(SESSION_KEY, session)
  }

  return (
    <main className={css.page}>
      <div className={css.card}>
        <div className={css.brand}>
          <Mark size={28} />
          <h1 className={css.title}>Log in to Headland</h1>
        </div>
        <Form label="Log in" onSubmit={submit}>
          <TextField
            label="E-mail"
            name="email"
            type="email"
            inputMode="email"
            autoComplete="username"
            required
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
          <TextField
            label="Password"
            name="password"
            type="password"
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
          <ProblemNote problem={logIn.problem} />
          <FormActions>
            <Button kind="primary" type="submit" busy={logIn.isBusy}>
              Log in
            </Button>
          </FormActions>
        </Form>
        <p className={css.hint}>
          The first start of the service prints an address and a password. A new one is made with{' '}
          <code>headland users reset-password</code>.
        </p>
      </div>
    </main>
  )
}
