import "nowhere.sl";
import "count/count.sl" as counters;
counters::Counter :: a
other::Count :: b
from_tor -> counters::Count -> to_tor
