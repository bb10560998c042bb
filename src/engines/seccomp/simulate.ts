/**
 * Runs and disassembles a filter program without a kernel, for the tests of both architectures. It implements the format
 * independently, and shares only the names of errors with the code that makes the program.
 */
import { ERRNO } from './bpf.ts'

export type SystemCall = {
  /** The kernel's number for the architecture. */
  arch: number
  nr: number
  args?: readonly (number | bigint)[]
}

/** `allow`, `kill`, or the name of the error that the call answers. */
export function run(program: Buffer, call: SystemCall): string {
  const data = dataOf(call)
  let register = 0
  for (let at = 0; ; at++) {
    const { code, ifTrue, ifFalse, value } = instructionAt(program, at)
    if (code === 0x06) return verdictOf(value)
    else if (code === 0x20) register = data.readUInt32LE(value)
    else if (code === 0x54) register = (register & value) >>> 0
    else if (code === 0x15) at += register === value ? ifTrue : ifFalse
    else if (code === 0x25) at += register > value ? ifTrue : ifFalse
    else if (code === 0x45) at += (register & value) !== 0 ? ifTrue : ifFalse
    else throw new Error(`instruction ${at} has the unknown code ${code}`)
  }
}

/** A line for each instruction, with the line that a jump leads to. */
export function disassemble(program: Buffer): string[] {
  return Array.from({ length: program.length / 8 }, (_, at) => {
    const { code, ifTrue, ifFalse, value } = instructionAt(program, at)
    return `${at}: ${textOf(code, value, `? ${at + 1 + ifTrue} : ${at + 1 + ifFalse}`)}`
  })
}

function textOf(code: number, value: number, jump: string): string {
  const hex = `0x${value.toString(16)}`
  if (code === 0x06) return `return ${verdictOf(value)}`
  if (code === 0x20) return `load ${value}`
  if (code === 0x54) return `and ${hex}`
  if (code === 0x15) return `== ${hex} ${jump}`
  if (code === 0x25) return `> ${hex} ${jump}`
  if (code === 0x45) return `& ${hex} ${jump}`
  throw new Error(`unknown code ${code}`)
}

/** struct sock_filter. */
function instructionAt(program: Buffer, at: number) {
  if (8 * at >= program.length) throw new Error(`there is no instruction ${at}`)
  const [code, ifTrue] = [program.readUInt16LE(8 * at), program.readUInt8(8 * at + 2)]
  return { code, ifTrue, ifFalse: program.readUInt8(8 * at + 3), value: program.readUInt32LE(8 * at + 4) }
}

/** struct seccomp_data. */
function dataOf({ arch, nr, args = [] }: SystemCall): Buffer {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(nr >>> 0, 0)
  data.writeUInt32LE(arch, 4)
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), 16 + 8 * index)
  return data
}

function verdictOf(value: number): string {
  if (value === 0x7fff0000) return 'allow'
  if (value === 0x80000000) return 'kill'
  const name = Object.entries(ERRNO).find(([, errno]) => value === 0x50000 + errno)?.[0]
  if (!name) throw new Error(`unknown verdict ${value}`)
  return name
}
