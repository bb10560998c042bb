/**
 * Asks before something is destroyed, and says what stops working. `run` is awaited inside the dialog, which shows the
 * progress and an error, and closes by itself on success.
 *
 *   const confirm = useConfirm()
 *   confirm({ title: 'Delete the app?', stops: ['Its sites stop answering.'], word: app, label: 'Delete app', run })
 */
import { createContext, type ReactNode, useCallback, useContext, useState } from 'react'
import { type Problem, problemOf } from '../../api/problem.ts'
import { ProblemNote } from '../feedback/problem-note.tsx'
import { Button } from './button.tsx'
import css from './confirm.module.css'
import { Dialog, DialogActions } from './dialog.tsx'
import { TextField } from './field.tsx'

export type Question = {
  title: string
  children?: ReactNode
  /** What stops working, a sentence each. */
  stops?: readonly string[]
  /** A word that the user has to type, where the action cannot be undone. */
  word?: string
  /** The button: a verb and its object. */
  label: string
  /** `danger` unless it destroys nothing. */
  kind?: 'danger' | 'primary'
  /** Throws `CallFailed` on failure. */
  run(): Promise<unknown>
}

const Context = createContext<(question: Question) => void>(() => undefined)

export const useConfirm = () => useContext(Context)

export function Confirms({ children }: { children: ReactNode }) {
  const [question, setQuestion] = useState<Question>()
  const close = useCallback(() => setQuestion(undefined), [])
  return (
    <Context value={setQuestion}>
      {children}
      {question && <Confirm question={question} onClose={close} />}
    </Context>
  )
}

function Confirm({ question, onClose }: { question: Question; onClose(): void }) {
  const { title, children, stops = [], word, label, kind = 'danger', run } = question
  const [typed, setTyped] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem>()
  const isReady = word === undefined || typed.trim() === word

  async function go() {
    if (!isReady || isBusy) return
    setBusy(true)
    setProblem(undefined)
    try {
      await run()
      onClose()
    } catch (error) {
      setProblem(problemOf(error))
    } finally {
      setBusy(false)
    }
  }

  return (
    <Dialog title={title} onClose={onClose}>
      {children && <div className={css.text}>{children}</div>}
      {stops.length > 0 && (
        <ul className={css.stops}>
          {stops.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
      <form
        className={css.form}
        onSubmit={(event) => {
          event.preventDefault()
          go()
        }}
      >
        {word !== undefined && (
          <TextField
            label={`Type ${word} to go on`}
            name="word"
            value={typed}
            autoComplete="off"
            onChange={(event) => setTyped(event.target.value)}
          />
        )}
        <ProblemNote problem={problem} />
        <DialogActions>
          <Button onClick={onClose}>Keep it as it is</Button>
          <Button kind={kind} type="submit" busy={isBusy} disabled={!isReady}>
            {label}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
