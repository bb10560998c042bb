/** What became of one try. */
export type Result = {
  isDelivered: boolean
  /** The HTTP status of the answer. */
  status?: number
  /** Why it failed, or what is worth a note although it did not. Without secrets. */
  error?: string
  /** Of a failure: whether a later try may succeed. */
  mayPass?: boolean
  /** How long the receiver wants to be left alone. */
  pauseMs?: number
  /** The receiver does not exist any more, and does not want to be called again. */
  isGone?: boolean
  /** Nothing was sent, so it does not count as a try. */
  isPostponed?: boolean
}

export const MAX_ERROR_LENGTH = 300
