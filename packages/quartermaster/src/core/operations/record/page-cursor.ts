import { AppError } from '../../../contracts/index.ts'

/** `1700000000000.op_9fGk`: the time and id of a page's last row. */
export function cursorAt(time: number, id: string): string {
  return `${time}.${id}`
}

/** Where the next page begins, for a query that is ordered by time and id. */
export function placeOf(cursor: string | undefined): { after?: readonly [number, string] } {
  if (cursor === undefined) return {}
  const [, time, id] = CURSOR.exec(cursor) ?? []
  if (time === undefined || id === undefined) {
    throw new AppError('INPUT_INVALID', 'The cursor is not one that a page gave. Begin without one.')
  }
  return { after: [Number(time), id] }
}

const CURSOR = /^(\d{1,16})\.([\w-]{1,128})$/
