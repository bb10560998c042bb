/** A sentence of the service, with the parts between backticks rendered as code. It is never parsed as HTML. */
export function WithCode({ text }: { text: string }) {
  return text.split(/`([^`]+)`/).map((part, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text stay in their order
    index % 2 === 1 ? <code key={index}>{part}</code> : part,
  )
}
