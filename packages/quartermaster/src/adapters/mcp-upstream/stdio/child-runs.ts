import type { UpstreamLogLine } from '../../../contracts/index.ts'

/** One program, from its start to its end. */
export interface ChildRun {
  /** A line of its output that is no message. */
  addNoise(text: string): void
  /** It has sent a message, so what it wrote before was a greeting. */
  understood(): void
  /** What it has written in place of messages, if it never sent one. */
  noise(): string | undefined
  end(): void
}

/** The programs of one server: one after the other or, where agents have their own, side by side. */
export interface ChildRuns {
  /** A program was started: a line tells what is said by which. */
  begin(pid: number): ChildRun
  /** What the program that is being started has written in place of messages. Of several nobody could tell which one is meant. */
  noise(): string | undefined
  /** Whether any of them has ever written what is no message. */
  wereNoisy(): boolean
}

export interface ChildRunsDeps {
  /** Keeps a line of the log. `of`: those that it is counted with, if not with all of the same origin. */
  add(from: UpstreamLogLine['from'], text: string, of?: 'noise'): void
  /** A text as it may be shown. */
  clean(text: string): string
}

/** More of what is no message is in the log, and nowhere else. */
const MOST_NOISE = 2_048

export function createChildRuns({ add, clean }: ChildRunsDeps): ChildRuns {
  /** Those that have not sent a message yet. */
  const onTrial = new Set<ChildRun>()
  let wereNoisy = false

  return {
    begin(pid) {
      let noise = ''
      const run: ChildRun = {
        addNoise(text) {
          add('gateway', `Not a message on its output: ${text}`, 'noise')
          wereNoisy = true
          if (onTrial.has(run) && noise.length < MOST_NOISE) noise += `${clean(text)}\n`
        },
        understood() {
          onTrial.delete(run)
          noise = ''
        },
        noise: () => noise || undefined,
        end: () => void onTrial.delete(run),
      }
      onTrial.add(run)
      add('gateway', `It was started, as process ${pid}.`)
      return run
    },
    noise() {
      const [run, ...others] = onTrial
      return others.length === 0 ? run?.noise() : undefined
    },
    wereNoisy: () => wereNoisy,
  }
}
