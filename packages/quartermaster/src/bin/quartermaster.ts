#!/usr/bin/env node
import { keepCompiledCode } from './compiled-code.ts'

keepCompiledCode()
// Only what is loaded from here on is kept.
const [command, ...words] = process.argv.slice(2)
// A client keeps it running for hours, so it loads no other command.
const connect = command === 'connect' ? await import('../app/bootstrap/connect.ts') : undefined
const code =
  (await connect?.connectFromCommandLine(words)) ?? (await (await import('../app/main.ts')).main(process.argv.slice(2)))

// What was written must still get through the pipe; what project code left running must not keep the process.
const flushed = (stream: NodeJS.WriteStream) => new Promise<void>(resolve => stream.write('', () => resolve()))
await Promise.all([flushed(process.stdout), flushed(process.stderr)])
process.exit(code)
