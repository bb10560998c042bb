/** For `.catch()` of a file operation: undefined if the file does not exist (ENOENT). Every other error is thrown again. */
export function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
