import { content } from '../content.js'

export const revalidate = 2

export default function Clock() {
  return <h1>{`For two seconds at least it is ${content.text}`}</h1>
}
