import type { AuditEntry } from '../../contracts/index.ts'
import { escapeLine } from './escape.ts'
import { stateInWords } from './explain.ts'
import type { UpEvent } from './host.ts'
import type { Session } from './session.ts'

export interface UpLog {
  add(event: UpEvent): void
  /** From now on lines are written; those of before come first. */
  open(): void
}

/** Tells the person who watches `up` what happens. A program that reads `--json` is told nothing more. */
export function createUpLog({ json, notices, host }: Session): UpLog {
  const early: string[] = []
  let isOpen = false
  return {
    add(event) {
      if (json) return
      const time = new Date(host.clock.now()).toTimeString().slice(0, 8)
      const line = `${notices.paint.dim(time)} ${escapeLine(describe(event))}\n`
      if (isOpen) void notices.write(line)
      else early.push(line)
    },
    open() {
      isOpen = true
      if (early.length > 0) void notices.write(early.join(''))
    },
  }
}

function describe(happened: UpEvent): string {
  switch (happened.name) {
    case 'generation.swapped': {
      const { generation, added, changed, removed } = happened.event
      return `generation ${generation}: ${added.length} added, ${changed.length} changed, ${removed.length} removed`
    }
    case 'dependency.changed':
      return `${happened.event.name} is ${stateInWords(happened.event.to)}: ${happened.event.reason}`
    case 'tools.disabled':
      return `disabled: ${happened.event.tools.join(', ')} (${happened.event.dependency}: ${happened.event.reason})`
    case 'tools.restored':
      return `active again: ${happened.event.tools.join(', ')} (${happened.event.dependency} is back)`
    case 'agents.reloaded':
      return `agents read again: ${happened.event.names.join(', ') || 'none'}`
    case 'call.settled':
      return callLine(happened.event)
    case 'notice':
      return `${happened.event.level === 'warning' ? 'warning: ' : ''}${happened.event.text}`
  }
}

const OUTCOMES = { succeeded: 'done', failed: 'failed', unknown: 'outcome unknown', notRun: 'not run' } as const

function callLine({ caller, tool, outcome, code, durationMs }: AuditEntry): string {
  const end = code === undefined ? OUTCOMES[outcome] : `${OUTCOMES[outcome]}, ${code}`
  return `${caller.name} called ${tool}: ${end} (${Math.round(durationMs)} ms)`
}
