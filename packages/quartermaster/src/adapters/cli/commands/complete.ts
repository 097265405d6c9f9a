import type { Command } from 'commander'
import { type Candidate, findCandidates } from '../completion/candidates.ts'
import { GrowingCommand } from '../completion/kinds.ts'
import { createLookup, pathsAlone } from '../completion/lookup.ts'
import { findPlace } from '../completion/place.ts'
import { EXIT } from '../errors.ts'
import { escapeLine } from '../escape.ts'
import type { Register } from '../register.ts'
import { createSession, type Session } from '../session.ts'

/** A shell that hangs at a Tab is worse than one that does not complete. */
const ANSWER_WITHIN_MS = 1_000

/** `__complete -- WORDS…`: what the scripts of `completion` ask. The last word is the one under the cursor. */
export const registerComplete: Register = (program, act) => {
  program
    .command('__complete', { hidden: true })
    .argument('[WORDS...]')
    .action((words: string[]) => act(session => complete(session, program, words)))
}

async function complete(session: Session, program: Command, words: readonly string[]): Promise<number> {
  const candidates =
    (await inTime(session, answer(session, program, words))) ??
    // Nobody answers, and what the program knows by itself can still stand there.
    (await findCandidates(findPlace(program, words), pathsAlone))
  await session.out.write(candidates.filter(isVisible).map(line).join(''))
  return EXIT.done
}

async function answer(session: Session, program: Command, words: readonly string[]): Promise<Candidate[]> {
  const place = findPlace(program, words)
  const { command, config, data, agent, given } = place
  // Nobody wants a progress line at a Tab, so this goes around the one of `attend`.
  const { connectAsAgent: connect } = createSession(session.host, { config, data, json: true })
  if (!(command instanceof GrowingCommand)) return await findCandidates(place, createLookup(connect))
  await connect(control => command.grow(command, control, { words, agent, given }))
  return await findCandidates(findPlace(program, words), createLookup(connect))
}

function inTime<T>(session: Session, work: Promise<T>): Promise<T | undefined> {
  return new Promise(resolve => {
    const cancel = session.host.clock.after(ANSWER_WITHIN_MS, () => resolve(undefined))
    // Whatever is wrong is told when the command runs; here nobody reads it.
    work.then(resolve, () => resolve(undefined)).finally(cancel)
  })
}

/** A shell shows what it offers, and a value of a server that could steer the terminal is not offered. */
function isVisible({ value }: Candidate): boolean {
  return escapeLine(value) === value
}

function line({ value, about }: Candidate): string {
  return about ? `${value}\t${escapeLine(about)}\n` : `${value}\n`
}
