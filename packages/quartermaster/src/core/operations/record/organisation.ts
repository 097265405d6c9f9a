/** The one organisation that a data folder is for; every row of what its agents did belongs to it. */
export const ORGANISATION = 'default'
