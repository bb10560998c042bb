/** Shows the error when a page could not be loaded or rendered. The frame around it stays. */
import { Component, type ReactNode } from 'react'
import { Button } from '../controls/button.tsx'
import { Empty } from './empty.tsx'

type Props = { children: ReactNode /** A change of it is a new try: the address of the page. */; at: string }
type State = { fault: Error | undefined; at: string }

/** A class, since React supports error boundaries only as classes. */
export class FaultBoundary extends Component<Props, State> {
  override state: State = { fault: undefined, at: this.props.at }

  static getDerivedStateFromError(fault: Error): Partial<State> {
    return { fault }
  }

  static getDerivedStateFromProps({ at }: Props, state: State): Partial<State> | null {
    return at === state.at ? null : { fault: undefined, at }
  }

  override render() {
    const { fault } = this.state
    if (!fault) return this.props.children
    return (
      <Empty
        title="This page could not be shown"
        action={
          <Button kind="primary" onClick={() => location.reload()}>
            Load it again
          </Button>
        }
      >
        The connection broke, or the portal was changed since this tab was opened. <code>{fault.message}</code>
      </Empty>
    )
  }
}
